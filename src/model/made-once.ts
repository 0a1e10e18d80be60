/**
 * A pure function of a name that remembers what it made: for what every operation asks again of the same few names. At
 * the bound all are let go and made anew.
 */
export function madeOnce<T>(make: (name: string) => T, keptMax = 20_000): (name: string) => T {
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
