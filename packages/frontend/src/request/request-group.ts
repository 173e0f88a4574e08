/**
 * The requests of one body. None of them is sent anywhere before all are prepared, so that the fault of one is found before
 * any reaches a worker.
 */
export class RequestGroup {
  #missing: number;
  readonly #waiting: (() => void)[] = [];

  /** `requests`: how many there are. */
  constructor(requests: number) {
    this.#missing = requests;
  }

  /** One more is prepared. Resolves when all are: never, if one of them fails before. */
  prepared(): Promise<void> {
    this.#missing -= 1;
    const all = new Promise<void>((resolve) => void this.#waiting.push(resolve));
    if (this.#missing === 0) for (const goOn of this.#waiting.splice(0)) goOn();
    return all;
  }
}
