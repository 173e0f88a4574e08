export { decodeRouter } from "./actor.ts";
