import {
  type ActorHeartbeat,
  type Catalog,
  type CatalogModel,
  type CatalogWorker,
  type LoadReport,
  modelName,
  type WorkerId,
} from "@baton/protocol";
import type { ModelView, WorkerView } from "./cluster-view.ts";
import { describeModel } from "./describe-model.ts";
import { WorkerRecord } from "./worker-record.ts";

/** What a picture tells. Called after the whole change is made. */
export interface PictureListener {
  onChange(): void;
  onWorkerLost(worker: WorkerView, why: string): void;
}

/** A model as the catalog lists it. */
interface ListedModel {
  readonly entry: CatalogModel;
  readonly records: readonly WorkerRecord[];
  readonly refused: readonly CatalogWorker[];
}

interface Sign {
  readonly generation: number;
  readonly life: "heard" | "lost";
  readonly drains: boolean;
}

/**
 * The workers and models of a namespace: the catalog, corrected by what is heard of the workers themselves. No I/O.
 * A worker that the catalog drops while it is still heard drains: it is found by id until it is lost.
 */
export class ClusterPicture {
  readonly #listener: PictureListener;
  readonly #graceMs: number;
  readonly #records = new Map<string, WorkerRecord>();
  /** The last sign of each worker that has been heard, listed or not. */
  readonly #signs = new Map<string, Sign>();
  #listed = new Map<string, ListedModel>();
  readonly #views = new Map<string, ModelView>();
  #all: readonly ModelView[] | null = null;

  /** `graceMs`: how long a listed worker counts as live before it has been heard. */
  constructor(graceMs: number, listener: PictureListener) {
    this.#graceMs = graceMs;
    this.#listener = listener;
  }

  models(): readonly ModelView[] {
    this.#all ??= [...this.#listed.keys()].flatMap((name) => this.model(name) ?? []);
    return this.#all;
  }

  model(name: string): ModelView | undefined {
    const known = this.#views.get(name);
    if (known !== undefined) return known;
    const listed = this.#listed.get(name);
    if (listed === undefined) return undefined;
    const view = viewOf(name, listed);
    this.#views.set(name, view);
    return view;
  }

  worker(id: WorkerId): WorkerView | undefined {
    return this.#records.get(id);
  }

  /** Replaces the catalog. Only a complete one says by its silence that a worker is gone. */
  takeCatalog(catalog: Catalog, nowMs: number): void {
    const losses: Loss[] = [];
    const seen = new Set<WorkerRecord>();
    for (const worker of catalog.workers) {
      if (worker.state !== "refused") seen.add(this.#list(worker, nowMs, losses));
    }
    for (const record of this.#records.values()) {
      if (catalog.complete && !seen.has(record)) this.#delist(record, losses);
    }
    this.#listed = listModels(catalog, this.#records);
    this.#views.clear();
    this.#tell(true, losses);
  }

  /** A worker is heard, or heard in another state. */
  hear(heartbeat: ActorHeartbeat): void {
    const { id, generation } = heartbeat;
    const sign: Sign = { generation, life: "heard", drains: heartbeat.state === "draining" };
    this.#signs.set(id, sign);
    this.#applySign(id, sign, "silent");
  }

  /** A generation of a worker is gone. */
  lose(id: string, generation: number, why: string): void {
    const known = this.#signs.get(id);
    if (known !== undefined && known.generation > generation) {
      this.#loseOld(id, known, why);
      return;
    }
    const sign: Sign = { generation, life: "lost", drains: false };
    if (this.#records.has(id) && why !== "stopped") this.#signs.set(id, sign);
    else this.#signs.delete(id);
    this.#applySign(id, sign, why);
  }

  /** Takes a load report. False if it is of an unknown, lost or other generation, or late. */
  report(report: LoadReport): boolean {
    const record = this.#records.get(report.workerId);
    if (record === undefined || record.generation !== report.generation) return false;
    if (record.life === "lost") return false;
    if (record.load !== null && record.load.sequence >= report.sequence) return false;
    const wasAccepting = record.load?.accepting !== false;
    record.load = report;
    if (wasAccepting !== report.accepting) this.#settle(record, "silent");
    return true;
  }

  /** Gives up workers that were listed but never heard. True if some still have time. */
  sweep(nowMs: number): boolean {
    let waits = false;
    for (const record of this.#records.values()) {
      if (record.life !== "unheard" || record.listed === "lost") continue;
      if (nowMs < record.graceUntilMs) waits = true;
      else this.#setLife(record, "lost", "silent");
    }
    return waits;
  }

  /** Nothing could be heard for a while: nobody is given up before `untilMs`. */
  pardon(untilMs: number): void {
    for (const record of this.#records.values()) {
      record.graceUntilMs = Math.max(record.graceUntilMs, untilMs);
    }
  }

  #list(worker: CatalogWorker, nowMs: number, losses: Loss[]): WorkerRecord {
    const { id, generation } = worker.registration;
    const known = this.#records.get(id);
    if (known !== undefined && known.generation === generation) {
      known.relist(worker);
      settleInto(known, losses, "reported");
      return known;
    }
    if (known !== undefined) {
      known.life = "lost";
      settleInto(known, losses, "replaced");
    }
    const record = new WorkerRecord(worker, nowMs + this.#graceMs);
    this.#records.set(id, record);
    const sign = this.#signs.get(id);
    if (sign !== undefined) readSign(record, sign);
    record.settle();
    return record;
  }

  #delist(record: WorkerRecord, losses: Loss[]): void {
    record.listed = null;
    if (record.life === "heard") {
      record.settle();
      return;
    }
    this.#records.delete(record.id);
    if (record.life === "lost") this.#signs.delete(record.id);
    if (record.state !== "lost") losses.push([record, "delisted"]);
    record.state = "lost";
  }

  #loseOld(id: string, known: Sign, why: string): void {
    const record = this.#records.get(id);
    if (record !== undefined && record.generation < known.generation) {
      this.#setLife(record, "lost", why);
    }
  }

  #applySign(id: string, sign: Sign, why: string): void {
    const record = this.#records.get(id);
    if (record === undefined) return;
    if (record.generation < sign.generation) {
      // A later start has been heard before it is listed: this one cannot live any more.
      this.#setLife(record, "lost", "replaced");
    } else if (record.generation === sign.generation) {
      record.drains = sign.drains;
      this.#setLife(record, sign.life, why);
    }
  }

  #setLife(record: WorkerRecord, life: WorkerRecord["life"], why: string): void {
    record.life = life;
    if (life === "lost" && record.listed === null) {
      this.#records.delete(record.id);
      this.#signs.delete(record.id);
    }
    this.#settle(record, why);
  }

  #settle(record: WorkerRecord, why: string): void {
    const losses: Loss[] = [];
    const changed = settleInto(record, losses, why);
    if (changed) this.#views.delete(record.model);
    this.#tell(changed, losses);
  }

  #tell(changed: boolean, losses: readonly Loss[]): void {
    if (!changed) return;
    this.#all = null;
    for (const [worker, why] of losses) this.#listener.onWorkerLost(worker, why);
    this.#listener.onChange();
  }
}

type Loss = readonly [worker: WorkerRecord, why: string];

function settleInto(record: WorkerRecord, losses: Loss[], why: string): boolean {
  const changed = record.settle();
  if (changed && record.state === "lost") losses.push([record, why]);
  return changed;
}

function readSign(record: WorkerRecord, sign: Sign): void {
  if (sign.generation > record.generation) record.life = "lost";
  if (sign.generation !== record.generation) return;
  record.life = sign.life;
  record.drains = sign.drains;
}

function listModels(
  catalog: Catalog,
  records: ReadonlyMap<string, WorkerRecord>,
): Map<string, ListedModel> {
  const members = new Map<string, { records: WorkerRecord[]; refused: CatalogWorker[] }>();
  for (const { model } of catalog.models) members.set(model, { records: [], refused: [] });
  for (const worker of catalog.workers) {
    const group = members.get(worker.registration.card.model);
    if (worker.state === "refused") group?.refused.push(worker);
    else group?.records.push(...[records.get(worker.registration.id) ?? []].flat());
  }
  const listed = new Map<string, ListedModel>();
  for (const entry of catalog.models) {
    const group = members.get(entry.model);
    listed.set(entry.model, {
      entry,
      records: group?.records ?? [],
      refused: group?.refused ?? [],
    });
  }
  return listed;
}

function viewOf(name: string, { entry, records, refused }: ListedModel): ModelView {
  const isAsListed = records.every((record) => record.state === record.listed);
  const corrected = (): CatalogModel =>
    describeModel(name, [
      ...records.map(({ registration, state }) => ({ registration, state, conflicts: [] })),
      ...refused,
    ]);
  return {
    model: modelName(name),
    catalog: isAsListed ? entry : corrected(),
    workers: records,
  };
}
