/** A line of the log as pino writes it: JSON with the time, the level, the message and the facts. */
interface Line {
  readonly time: string;
  readonly level: string;
  readonly component: string;
  readonly object?: string;
  readonly msg: string;
  readonly stack?: string;
}

/** The same line for people: `2026-01-01T00:00:00.000Z WARN  detector n3: Unknown: no heartbeat for 41s`. */
export function plainLine(json: string): string {
  // A parsed boundary: pino has written it.
  const { time, level, component, object, msg, stack, ...fields } = JSON.parse(json) as Line;
  const about = object === undefined ? component : `${component} ${object}`;
  const facts = Object.entries(fields).map(([name, value]) => ` ${name}=${shown(String(value))}`);
  const more = stack === undefined ? '' : `\n${stack}`;
  return `${time} ${level.toUpperCase().padEnd(5)} ${about}: ${msg}${facts.join('')}${more}\n`;
}

const shown = (value: string): string =>
  /[\s"=]/.test(value) || value === '' ? JSON.stringify(value) : value;
