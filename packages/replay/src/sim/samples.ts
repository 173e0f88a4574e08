/** Numbers in a typed array that grows: inter-token times come by the million. */
export class Samples {
  #values = new Float64Array(1_024);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#count * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  /** A view of what was added; adding may move it. */
  values(): Float64Array {
    return this.#values.subarray(0, this.#count);
  }
}
