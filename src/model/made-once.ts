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

/**
 * A pure function of names that remembers what it made last: an operation names the same replica several times, and those
 * after it are of the same revision. The very same text is found again in a map without being read.
 */
export function sameAgain(
  make: (first: string, second: string, third: string) => string,
): (first: string, second: string, third: string) => string {
  let [first, second, third] = ['', '', ''];
  let made: string | undefined;
  return (one, two, three) => {
    if (made === undefined || two !== second || three !== third || one !== first) {
      made = make(one, two, three);
      [first, second, third] = [one, two, three];
    }
    return made;
  };
}
