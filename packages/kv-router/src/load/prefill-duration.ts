/** How a router guesses how long a prefill takes. `none`: it does not. */
export type PrefillDurationModel =
  | { readonly kind: "none" }
  | {
      readonly kind: "polynomial";
      /** ms a token squared. */
      readonly quadratic: number;
      /** ms a token. */
      readonly linear: number;
      /** ms. */
      readonly constant: number;
    };

/** No model: prompt tokens count in full until they are computed. */
export const noPrefillDuration: PrefillDurationModel = { kind: "none" };

/** The timing of the mock engine at speed 1 (`dynamo-semantics` 7.3). */
export const defaultPrefillDuration: PrefillDurationModel = {
  kind: "polynomial",
  quadratic: 4.209989e-7,
  linear: 1.518344e-2,
  constant: 16.50142,
};

/** How long `tokens` prompt tokens take to compute, ms; null without a model. */
export function prefillMs(model: PrefillDurationModel, tokens: number): number | null {
  if (model.kind === "none") return null;
  if (tokens <= 0) return 0;
  return (model.quadratic * tokens + model.linear) * tokens + model.constant;
}
