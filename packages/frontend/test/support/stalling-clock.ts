import { VirtualClock } from "@baton/runtime";

/** The clock of a process that may not run for a while: its timers come later than their time. */
export class StallingClock extends VirtualClock {
  stalledMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.stalledMs;
  }
}
