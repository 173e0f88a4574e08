import { seedSuite } from "../support/simulation/seed-suite.ts";

seedSuite(501, 125);
