import { ServingError } from "@baton/protocol";
import type { TextModel } from "./text-model.ts";

/** Makes the text model of an artifact. */
export type LoadTextModel = (model: string, checksum: string) => Promise<TextModel>;

/**
 * The text models in use, by the checksum of their artifacts. Each is made once, however many requests wait for it.
 * At most `max` are kept; the one that was used longest ago goes first.
 */
export class TextModels {
  readonly #load: LoadTextModel;
  readonly #max: number;
  /** In order of last use. */
  readonly #models = new Map<string, Promise<TextModel>>();

  constructor(max: number, load: LoadTextModel) {
    this.#max = max;
    this.#load = load;
  }

  /** The text model of a model's card. Rejects with a `ServingError`; the next call tries again. */
  get(model: string, checksum: string): Promise<TextModel> {
    const known = this.#models.get(checksum);
    const promise = known ?? this.#start(model, checksum);
    this.#models.delete(checksum);
    this.#models.set(checksum, promise);
    for (const oldest of this.#models.keys()) {
      if (this.#models.size <= this.#max) break;
      this.#models.delete(oldest);
    }
    return promise;
  }

  /** Makes a text model before it is needed, if there is room for one. Resolves when it is there, or there is no room. */
  async warmUp(model: string, checksum: string): Promise<void> {
    const known = this.#models.get(checksum);
    if (known !== undefined) await known;
    else if (this.#models.size < this.#max) await this.get(model, checksum);
  }

  #start(model: string, checksum: string): Promise<TextModel> {
    const promise = this.#load(model, checksum).catch((error: unknown) => {
      if (this.#models.get(checksum) === promise) this.#models.delete(checksum);
      throw ServingError.from(error);
    });
    return promise;
  }
}
