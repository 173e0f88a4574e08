import { seedSuite } from "../support/simulation/seed-suite.ts";

seedSuite(1, 125);
