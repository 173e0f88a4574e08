import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** `callingSource`, `#note`, its closure and the patched method. */
const callersAbove = 4;

type Collection = Map<unknown, unknown> | Set<unknown>;

/** Entries of all living maps and sets that were first filled while watched, by the line that filled them. */
export class CollectionWatch {
  readonly #known = new WeakSet<Collection>();
  readonly #watched: { readonly collection: WeakRef<Collection>; readonly site: string }[] = [];
  readonly #restore: () => void;

  constructor() {
    const { set } = Map.prototype;
    const { add } = Set.prototype;
    const note = (collection: Collection) => this.#note(collection);
    Map.prototype.set = function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
      note(this);
      return Reflect.apply(set, this, [key, value]) as typeof this;
    };
    Set.prototype.add = function (this: Set<unknown>, value: unknown) {
      note(this);
      return Reflect.apply(add, this, [value]) as typeof this;
    };
    this.#restore = () => {
      Map.prototype.set = set;
      Set.prototype.add = add;
    };
  }

  /** Entries by site, garbage left out. */
  sizes(): Map<string, number> {
    collectGarbage();
    const sizes = new Map<string, number>();
    for (const { collection, site } of this.#watched) {
      const size = collection.deref()?.size ?? 0;
      if (size > 0) sizes.set(site, (sizes.get(site) ?? 0) + size);
    }
    return sizes;
  }

  stop(): void {
    this.#restore();
  }

  #note(collection: Collection): void {
    if (this.#known.has(collection)) return;
    this.#known.add(collection);
    const site = callingSource();
    if (site !== null) this.#watched.push({ collection: new WeakRef(collection), site });
  }
}

/** The source file of a package that fills a collection; null for libraries and the simulation itself. */
function callingSource(): string | null {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = callersAbove + 1;
  // Frames as they are: a text of them, mapped to sources, costs more than all else here.
  Error.prepareStackTrace = (_, frames) => frames[callersAbove]?.getFileName() ?? "";
  const file: unknown = new Error().stack;
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  return /packages\/([\w-]+\/src\/[\w./-]+)/.exec(String(file))?.[1] ?? null;
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
}
