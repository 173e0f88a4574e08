import { ServingError } from "@baton/protocol";
import type { Clock } from "@baton/runtime";
import { type LoadedPolicy, loadPolicy, type PolicySources } from "./load-policy.ts";
import type { PolicyFlags } from "./policy-options.ts";

/** How often the file is looked at. */
const lookIntervalMs = 1_000;

/** What is watched, and who hears of it. */
export interface PolicyWatchOptions extends PolicySources {
  readonly clock: Clock;
  readonly flags: PolicyFlags & { readonly policyFile: string };
  /** The policy in force. */
  readonly current: LoadedPolicy;
  /** The file has changed to this. It is to be used whole, from the next choice on. */
  onPolicy(loaded: LoadedPolicy): void;
  /** The file has changed to something that is no policy: the old one stays. Told once per change. */
  onError(error: ServingError): void;
}

/** A policy file that is being watched. */
export interface PolicyWatch {
  stop(): void;
}

/** Looks at the policy file every second, by the clock that it is given, and reads it when it has changed. */
export function watchPolicyFile(options: PolicyWatchOptions): PolicyWatch {
  return new Watch(options);
}

class Watch implements PolicyWatch {
  readonly #options: PolicyWatchOptions;
  readonly #timer: ReturnType<Clock["setRepeating"]>;
  #stamp: string | null;
  #isLooking = false;
  #isStopped = false;

  constructor(options: PolicyWatchOptions) {
    this.#options = options;
    this.#stamp = options.current.stamp;
    this.#timer = options.clock.setRepeating(lookIntervalMs, () => void this.#look());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.cancel();
  }

  /** A slow disk is not asked twice at a time. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#reload();
    } finally {
      this.#isLooking = false;
    }
  }

  async #reload(): Promise<void> {
    const { files, flags, onPolicy, onError } = this.#options;
    const stamp = await files.stamp(flags.policyFile).catch(() => null);
    if (this.#isStopped || stamp === this.#stamp) return;
    this.#stamp = stamp;
    try {
      const loaded = await loadPolicy(flags, this.#options);
      if (this.#isStopped) return;
      this.#stamp = loaded.stamp;
      onPolicy(loaded);
    } catch (error) {
      if (!this.#isStopped) onError(ServingError.from(error, "config_invalid"));
    }
  }
}
