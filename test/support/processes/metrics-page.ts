/** Label values that a sample must have. */
export type Labels = Readonly<Record<string, string>>;

const samplePattern = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The sum of the samples of a name that have these labels, in a page of Prometheus text. */
export function sumSamples(page: string, name: string, labels: Labels = {}): number {
  return samples(page, name, labels).reduce((sum, sample) => sum + sample, 0);
}

/** The values of the samples of a name that have these labels. */
export function samples(page: string, name: string, labels: Labels = {}): readonly number[] {
  return page.split("\n").flatMap((line) => {
    const [, found, labelText = "", value] = samplePattern.exec(line) ?? [];
    if (found !== name) return [];
    const has = new Map([...labelText.matchAll(labelPattern)].map(([, key, text]) => [key, text]));
    const fits = Object.entries(labels).every(([key, text]) => has.get(key) === text);
    return fits ? [Number(value)] : [];
  });
}
