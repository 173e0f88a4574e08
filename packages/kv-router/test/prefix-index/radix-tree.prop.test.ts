import { createRadixTree } from "../../src/index.ts";
import { findsWhatTheRanksHold } from "./prefix-index-histories.ts";

findsWhatTheRanksHold(createRadixTree);
