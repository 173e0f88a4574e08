/** A promise that somebody else settles. A rejection that nobody waits for is no fault. */
export class Deferred<T> {
  readonly promise: Promise<T>;
  #resolve: (value: T) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.promise.catch(() => {});
  }

  resolve(value: T): void {
    this.#resolve(value);
  }

  reject(error: Error): void {
    this.#reject(error);
  }
}
