import { ServingError } from "@baton/protocol";

/** The error of a trace that cannot be read: `config_invalid` that names the line and the field. */
export function traceFault(line: number, field: string, problem: string): ServingError {
  return new ServingError("config_invalid", {
    problem: `the trace's line ${line}: ${field} ${problem}`,
  });
}
