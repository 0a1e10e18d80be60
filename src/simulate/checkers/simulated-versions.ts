import { Versions } from '../../model/versions.js';

/** Of every simulated cell: its base is 0. */
export const simulatedVersions = new Versions(0);
