import type { WorkerRegistration } from "@baton/protocol";

/** One way in which an offered card is not what is served. */
export interface CardConflict {
  readonly field: string;
  readonly serving: string;
  readonly offered: string;
}

type ReadField = (registration: WorkerRegistration) => unknown;

/**
 * Fields in which all workers of a model agree, whatever their type and set. A Frontend renders, tokenizes and hashes
 * a prompt once, before a route is chosen, and a decode worker looks up the blocks that prefill made by their hashes.
 */
const modelFields: Readonly<Record<string, ReadField>> = {
  blockSize: ({ card }) => card.blockSize,
  hashSalt: ({ card }) => card.hashSalt,
  tokenizerChecksum: ({ card }) => card.tokenizerChecksum,
};

/**
 * Fields in which the workers of a set agree besides: a router takes any of them for any request. The engine is one,
 * since tickets and engine parameters are an engine's own; so is the descriptor, since a block fetched from one
 * worker must fit every other. Capabilities and endpoints decide what a Frontend lets in, the context length how much.
 * Capacity, topology and taints are left out: they are each worker's own. So is the router configuration: routers take the
 * first card's and warn, since a set that cannot be tuned without being stopped is worse than one that differs for a while.
 */
const setFields: Readonly<Record<string, ReadField>> = {
  ...modelFields,
  contextLength: ({ card }) => card.contextLength,
  engine: ({ card }) => card.engine,
  modelType: ({ card }) => [...card.modelType].sort(),
  capabilities: ({ card }) => [...card.capabilities].sort(),
  needs: ({ needs }) => needs.map((alternative) => [...alternative].sort()),
  descriptor: ({ card }) => card.descriptor,
};

/** Where two workers of one set differ; empty if both may serve. */
export function setConflicts(
  serving: WorkerRegistration,
  offered: WorkerRegistration,
): readonly CardConflict[] {
  return conflictsIn(setFields, serving, offered);
}

/** Where two workers of one model, but of different sets, differ; empty if both may serve. */
export function modelConflicts(
  serving: WorkerRegistration,
  offered: WorkerRegistration,
): readonly CardConflict[] {
  return conflictsIn(modelFields, serving, offered);
}

/** Equal for two workers exactly if `setConflicts` finds nothing. */
export function setPrint(registration: WorkerRegistration): string {
  return printOf(setFields, registration);
}

/** Equal for two workers exactly if `modelConflicts` finds nothing. */
export function modelPrint(registration: WorkerRegistration): string {
  return printOf(modelFields, registration);
}

function printOf(
  fields: Readonly<Record<string, ReadField>>,
  registration: WorkerRegistration,
): string {
  return JSON.stringify(Object.values(fields).map((read) => sorted(read(registration))));
}

/** A descriptor says the same whatever the order of its fields. */
function sorted(value: unknown): unknown {
  if (!isMap(value)) return value;
  return Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
}

function conflictsIn(
  fields: Readonly<Record<string, ReadField>>,
  serving: WorkerRegistration,
  offered: WorkerRegistration,
): readonly CardConflict[] {
  return Object.entries(fields).flatMap(([field, read]) =>
    compare(field, read(serving), read(offered)),
  );
}

/** Compares a field's values; of two maps it names the entries that differ. */
function compare(field: string, serving: unknown, offered: unknown): readonly CardConflict[] {
  if (isMap(serving) && isMap(offered)) {
    const names = [...new Set([...Object.keys(serving), ...Object.keys(offered)])].sort();
    return names.flatMap((name) => compare(`${field}.${name}`, serving[name], offered[name]));
  }
  const [servingText, offeredText] = [show(serving), show(offered)];
  return servingText === offeredText ? [] : [{ field, serving: servingText, offered: offeredText }];
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "absent" : JSON.stringify(value);
}
