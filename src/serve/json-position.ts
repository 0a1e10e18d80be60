const token =
  /\s+|"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]/uy;

/**
 * Where a text stops being JSON, as a character offset. V8 does not always say, and people look for a place.
 * Follows the grammar with a stack of its own: no depth of nesting can overflow it.
 */
export function jsonErrorOffset(text: string): number {
  // What may come next; inside an object a string may be a key.
  let expects: 'value' | 'key' | 'keyOrEnd' | 'valueOrEnd' | 'colon' | 'commaOrEnd' | 'end' = 'value';
  const open: string[] = [];
  const closed = (): typeof expects => (open.length === 0 ? 'end' : 'commaOrEnd');
  for (let at = 0; at < text.length;) {
    token.lastIndex = at;
    const found = token.exec(text)?.[0];
    if (found === undefined) return at;
    const first = found[0] ?? '';
    if (/\s/.test(first)) {
      at += found.length;
      continue;
    }
    const takesValue = expects === 'value' || expects === 'valueOrEnd';
    if (first === '{' && takesValue) {
      open.push('}');
      expects = 'keyOrEnd';
    } else if (first === '[' && takesValue) {
      open.push(']');
      expects = 'valueOrEnd';
    } else if (
      (first === '}' || first === ']') &&
      open.at(-1) === first &&
      (expects === 'commaOrEnd' || expects === (first === '}' ? 'keyOrEnd' : 'valueOrEnd'))
    ) {
      open.pop();
      expects = closed();
    } else if (first === ',' && expects === 'commaOrEnd') {
      expects = open.at(-1) === '}' ? 'key' : 'value';
    } else if (first === ':' && expects === 'colon') {
      expects = 'value';
    } else if (first === '"' && (expects === 'key' || expects === 'keyOrEnd')) {
      expects = 'colon';
    } else if (takesValue && !'{}[],:'.includes(first)) {
      expects = closed();
    } else {
      return at;
    }
    at += found.length;
  }
  return text.length;
}
