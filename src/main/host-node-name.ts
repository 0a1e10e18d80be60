import { hostname } from 'node:os';
import { isNodeName } from '../serve/identity/join-grant.js';

/** The name of this host, as the name of a node. */
export function hostNodeName(): string {
  const name = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-');
  return isNodeName(name) ? name : 'local';
}
