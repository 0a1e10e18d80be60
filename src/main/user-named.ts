import { readFileSync } from 'node:fs';
import { BerthError } from '../model/errors.js';

/** A user of this machine, by name or number. */
export function userNamed(
  name: string,
  passwd = readFileSync('/etc/passwd', 'utf8'),
): {
  readonly uid: number;
  readonly gid: number;
} {
  for (const line of passwd.split('\n')) {
    const [user, , uid = '', gid = ''] = line.split(':');
    if ((user === name || uid === name) && /^\d+$/.test(uid) && /^\d+$/.test(gid))
      return { uid: Number(uid), gid: Number(gid) };
  }
  throw new BerthError('InvalidAgentConfig', `there is no user ${JSON.stringify(name)} on this machine`);
}
