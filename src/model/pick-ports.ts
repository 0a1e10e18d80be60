// Ports that are asked for by name only are picked from here, above those that services are usually given and
// below those that the kernel gives out.
const pickedPortFirst = 20_000;
const pickedPortLast = 29_999;

/** Numbers by name; or the port that is not to be had, or that none is left. */
export type PickedPorts =
  | { readonly ports: Readonly<Record<string, number>> }
  | { readonly taken: number }
  | { readonly noneOf: string };

/** Picks the ports that are asked for (`name`, or `name:number`) on a node of which some are claimed. */
export function pickPorts(asked: readonly string[], isClaimed: (port: number) => boolean): PickedPorts {
  const ports: Record<string, number> = {};
  const isFree = (port: number): boolean => !isClaimed(port) && !Object.values(ports).includes(port);
  // Those with a number first: a name must not be given a number that another asks for.
  for (const port of asked) {
    const [name = '', number] = port.split(':');
    if (number === undefined) continue;
    if (!isFree(Number(number))) return { taken: Number(number) };
    ports[name] = Number(number);
  }
  let next = pickedPortFirst;
  for (const name of asked) {
    if (name.includes(':')) continue;
    while (next <= pickedPortLast && !isFree(next)) next += 1;
    if (next > pickedPortLast) return { noneOf: `${pickedPortFirst} to ${pickedPortLast}` };
    ports[name] = next;
    next += 1;
  }
  return { ports };
}
