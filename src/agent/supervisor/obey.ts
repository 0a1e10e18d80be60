import { permitOf, type RunOrder } from './protocol.js';
import type { Supervisor } from './supervisor.js';

/** Has a supervisor do what its agent says. What it does not know yet, a newer agent says: it is left out. */
export function obey(supervisor: Supervisor, message: RunOrder): void {
  switch (message.kind) {
    case 'start':
      return supervisor.start(message.spec);
    case 'stop':
      return supervisor.stop(message.uid, message.graceSeconds);
    case 'forget':
      return supervisor.forget(message.uid);
    case 'permit':
      return supervisor.permit(permitOf(message.permit));
  }
}
