const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as it may stand in HTML and SVG, in quotes too. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? character);
}

/** A coordinate of an SVG, to a tenth. */
export function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A time for people: ms below a second, else seconds, of about three digits. */
export function timeText(ms: number): string {
  return ms < 1_000 ? `${digits(ms)} ms` : `${digits(ms / 1_000)} s`;
}

/** A number of about three digits. */
export function digits(value: number): string {
  if (value === 0 || value >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}
