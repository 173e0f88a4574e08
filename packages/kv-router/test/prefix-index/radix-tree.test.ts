import { createRadixTree } from "../../src/index.ts";
import { prefixIndexContract } from "./prefix-index-contract.ts";

prefixIndexContract("radix tree", createRadixTree);
