import { issueWords, ServingError } from "@baton/protocol";
import type { z } from "zod";
import {
  instanceParameters,
  modeOfType,
  type PolicyFileContent,
  policyFileSchema,
  sectionKeys,
} from "./policy-file-schema.ts";
import { readYaml, type YamlText } from "./read-yaml.ts";
import { type KeyPath, pathText, refusalOfKey } from "./refused-keys.ts";
import { policyStages } from "./router-policy.ts";

/** A policy file that was read. Every key in it is known and within its range; what keys mean together is not checked. */
export interface PolicyFile {
  /** Its path, as it was given. */
  readonly path: string;
  readonly content: PolicyFileContent;
  /** `policy.yaml:12: router.use_kv_events`, for errors about a key that it has. */
  where(path: KeyPath): string;
}

/**
 * Reads the text of a policy file. Throws `config_invalid` that names every bad key with its line: unknown, refused by
 * name, out of range, or a name that stands for nothing; also if the file is empty or no YAML.
 */
export function parsePolicyFile(text: string, path: string): PolicyFile {
  const textBytes = Buffer.byteLength(text);
  if (textBytes > maxTextBytes) {
    throw invalid([`${path}: the policy file has ${textBytes} bytes, more than ${maxTextBytes}`]);
  }
  const yaml = readYaml(text);
  const where = (key: KeyPath): string => `${path}:${yaml.lineOf(key)}: ${pathText(key)}`;
  if (yaml.problems.length > 0) {
    throw invalid(yaml.problems.map(({ line, text: problem }) => `${path}:${line}: ${problem}`));
  }
  if (isEmpty(yaml.value)) throw invalid([`${path}: the policy file is empty`]);
  const parsed = policyFileSchema.safeParse(withoutNone(yaml.value), issueWords);
  const faults = parsed.success
    ? nameFaults(parsed.data)
    : parsed.error.issues.flatMap((issue) => faultsOf(issue, yaml));
  if (!parsed.success || faults.length > 0) {
    throw invalid(
      inOrder(faults, yaml).map(([key, problem]) =>
        key.length === 0 ? `${path}: ${problem}` : `${where(key)}: ${problem}`,
      ),
    );
  }
  return { path, content: parsed.data, where };
}

/** Most bytes of a policy file: reading a larger one would hold up what a router does meanwhile. */
const maxTextBytes = 32_768;
/** Mistakes that are told; whoever makes more of them finds the others afterwards. */
const maxProblems = 20;

type Fault = readonly [key: KeyPath, problem: string];

function inOrder(faults: readonly Fault[], yaml: YamlText): readonly Fault[] {
  return faults
    .map((fault) => ({ fault, line: yaml.lineOf(fault[0]) }))
    .sort((left, right) => left.line - right.line)
    .map(({ fault }) => fault);
}

function invalid(all: readonly string[]): ServingError {
  const further = all.length - maxProblems;
  const problems =
    further > 0 ? [...all.slice(0, maxProblems), `and ${further} more mistakes`] : all;
  return new ServingError("config_invalid", { problem: problems.join("; "), options: problems });
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return isMap(value) && Object.keys(value).length === 0;
}

/** The word that Dynamo takes for an unset threshold. */
function withoutNone(value: unknown): unknown {
  if (!isMap(value) || !isMap(value.busy_thresholds)) return value;
  const thresholds = Object.entries(value.busy_thresholds).map(
    ([name, threshold]) => [name, threshold === "None" ? null : threshold] as const,
  );
  return { ...value, busy_thresholds: Object.fromEntries(thresholds) };
}

function faultsOf(issue: z.core.$ZodIssue, yaml: YamlText): readonly Fault[] {
  const path = issue.path as KeyPath;
  if (issue.code !== "unrecognized_keys") return [[path, issue.message]];
  return issue.keys.map((key) => {
    const full = [...path, key];
    const refusal = refusalOfKey(full);
    const problem =
      refusal === undefined ? `unknown key${choiceOf(path, yaml.value)}` : `refused: ${refusal}`;
    return [full, problem];
  });
}

/** What might have been meant. */
function choiceOf(path: KeyPath, value: unknown): string {
  const names =
    path.at(-1) === "parameters"
      ? parameterNames(valueAt(value, path.slice(0, -1)))
      : sectionKeys[pathText(path)];
  if (names === undefined) return "";
  return names.length === 0 ? ": there are none" : `: there are ${names.join(", ")}`;
}

function parameterNames(instance: unknown): readonly string[] | undefined {
  const type = isMap(instance) && typeof instance.type === "string" ? instance.type : "";
  const mode = modeOfType(type);
  return mode === undefined ? undefined : instanceParameters(mode).map(({ name }) => name);
}

/** Instances of one name, the reserved name, and pools that name an instance which is not there. */
function nameFaults({ worker_selection: selection = {} }: PolicyFileContent): readonly Fault[] {
  const { instances = [] } = selection;
  const names = instances.map(({ name }) => name);
  const ofInstances = names.flatMap((name, index): readonly Fault[] => {
    const key = ["worker_selection", "instances", index, "name"];
    if (name === "default") return [[key, "default is reserved for what the flags say"]];
    return names.indexOf(name) < index ? [[key, `there are two instances "${name}"`]] : [];
  });
  const ofStages = policyStages.flatMap((stage): readonly Fault[] => {
    const name = selection[stage];
    if (name === undefined || name === "default" || names.includes(name)) return [];
    const choice = ["default", ...names].join(", ");
    return [[["worker_selection", stage], `there is no instance "${name}": there are ${choice}`]];
  });
  return [...ofInstances, ...ofStages];
}

function valueAt(value: unknown, path: KeyPath): unknown {
  let at = value;
  for (const step of path) at = (at as Readonly<Record<string | number, unknown>> | null)?.[step];
  return at;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
