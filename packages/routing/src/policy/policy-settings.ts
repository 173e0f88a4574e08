import { ServingError } from "@baton/protocol";
import type { PolicyFile } from "./parse-policy-file.ts";
import type { PolicyFileContent } from "./policy-file-schema.ts";
import type { PolicyFlags } from "./policy-options.ts";
import type { KeyPath } from "./refused-keys.ts";

/** The flags that have a key in the policy file, with that key. */
export const fileKeys = {
  useKvEvents: ["router", "use_kv_events"],
  predictedTtlSecs: ["router", "router_predicted_ttl_secs"],
  approximateCachePolicy: ["router", "router_approximate_cache_policy"],
  ttlSecs: ["router", "router_ttl_secs"],
  trackOutputBlocks: ["router", "router_track_output_blocks"],
  minInitialWorkers: ["router", "router_min_initial_workers"],
  activeDecodeBlocksThreshold: ["busy_thresholds", "active_decode_blocks_threshold"],
  activePrefillTokensThreshold: ["busy_thresholds", "active_prefill_tokens_threshold"],
  activePrefillTokensThresholdFrac: ["busy_thresholds", "active_prefill_tokens_threshold_frac"],
  sessionAffinityTtlSecs: ["session_affinity", "ttl_secs"],
  sessionAffinityMode: ["session_affinity", "mode"],
} as const satisfies Partial<Record<keyof PolicyFlags, KeyPath>>;

type SharedFlag = keyof typeof fileKeys;
const sharedFlags = Object.keys(fileKeys) as readonly SharedFlag[];

/** Flags and policy file together, and what is found to be wrong with them. */
export class PolicySettings {
  readonly flags: PolicyFlags;
  readonly file: PolicyFile | null;
  readonly content: PolicyFileContent;
  readonly #problems: string[] = [];

  constructor(flags: PolicyFlags, file: PolicyFile | null) {
    this.flags = flags;
    this.file = file;
    this.content = file?.content ?? {};
    for (const flag of sharedFlags) {
      if (flags[flag] !== undefined && this.#fileHas(fileKeys[flag])) {
        this.problem(`${flagName(flag)} is given, and ${this.where(fileKeys[flag])} too: keep one`);
      }
    }
  }

  problem(text: string): void {
    this.#problems.push(text);
  }

  /** Where a setting comes from: a line of the file, a flag, or nowhere. */
  where(key: KeyPath): string {
    if (this.file !== null && this.#fileHas(key)) return this.file.where(key);
    const flag = sharedFlags.find((one) => fileKeys[one].join() === key.join());
    return flag !== undefined && this.flags[flag] !== undefined
      ? flagName(flag)
      : `the default of ${key.join(".")}`;
  }

  /** Throws `config_invalid` if anything was found. */
  throwProblems(): void {
    const problems = this.#problems;
    if (problems.length === 0) return;
    throw new ServingError("config_invalid", { problem: problems.join("; "), options: problems });
  }

  #fileHas([section, name]: KeyPath): boolean {
    const keys: Readonly<Record<string, unknown>> | undefined =
      this.content[section as keyof PolicyFileContent];
    return keys?.[name as string] !== undefined;
  }
}

/** `--use-kv-events`. */
export function flagName(flag: keyof PolicyFlags): string {
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
