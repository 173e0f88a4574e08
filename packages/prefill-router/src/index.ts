export { activationMachine } from "./activation.ts";
export { prefillRouter } from "./actor.ts";
