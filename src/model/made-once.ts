// At the bound all are let go and made anew.
const keptMax = 20_000;

/** A pure function of a name that remembers what it made: for what every operation asks again of the same few names. */
export function madeOnce<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>();
  return (name) => {
    let one = made.get(name);
    if (one === undefined) {
      if (made.size >= keptMax) made.clear();
      one = make(name);
      made.set(name, one);
    }
    return one;
  };
}
