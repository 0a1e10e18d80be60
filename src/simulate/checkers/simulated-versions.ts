import { Versions } from '../../model/versions.js';

/** The versions of every simulated cell, whose base is 0. */
export const simulatedVersions = new Versions(0);
