import { seedSuite } from "../support/simulation/seed-suite.ts";

seedSuite(251, 125);
