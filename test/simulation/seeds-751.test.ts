import { seedSuite } from "../support/simulation/seed-suite.ts";

seedSuite(751, 125);
