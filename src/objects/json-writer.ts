const [quote, comma, colon, backslash] = [34, 44, 58, 92] as const;
const [openList, closeList, openObject, closeObject] = [91, 93, 123, 125] as const;
const [firstPrintable, lastPrintable, zero] = [32, 126, 48] as const;
// Values are written one behind the other into memory of this size; a larger one gets memory of its own. All of it
// stays for as long as one of its values does, so it is not larger.
const pieceBytes = 32 * 1024;
// Whole numbers are written digit by digit, the last so many apart where there are more.
const smallDigits = 9;
const smallMax = 10 ** smallDigits;
// Of one character of a string as JSON: an escaped lone surrogate.
const bytesPerCharacterMax = 6;
const wordBytes = 8;
// Longer names and texts are not kept: they seldom come twice.
const keptBytesMax = 4 * wordBytes;
// The names of all fields there are, and some that users chose. At the bound all are let go and kept anew.
const namesMax = 2_000;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Plain ASCII to be written again, as the doubles that have its bytes, eight at a time. None of them is a NaN, whose
 * bytes would not be certain: its last byte would be 0x7f or 0xff, and neither is plain.
 */
class Kept {
  text: string | undefined;
  bytes = 0;
  readonly words = new Float64Array(keptBytesMax / wordBytes);
}

/** A name that fields have, and what is likely to come with it: only a guess, each use compares first. */
class Name {
  /** With the comma before it and the colon behind it. */
  readonly kept = new Kept();
  /** Two texts that were its value, the newer first: a replica has two transitions, and what comes again is the last but one. */
  newer = new Kept();
  older = new Kept();
  /** The first name within its value, and the name after it. */
  first: Name | undefined;
  next: Name | undefined;

  constructor(readonly text: string) {}
}

/**
 * Plain data as the bytes of its JSON: those of JSON.stringify, which a test compares. Encoding is a fifth of what a bind
 * costs, and this way takes half of the time and leaves no strings behind. Reading a string character by character
 * is what costs: names and texts that came before are copied instead, and the others go straight to bytes, in one pass
 * that also finds what would have to be escaped.
 */
export class JsonWriter {
  #bytes = Buffer.allocUnsafeSlow(pieceBytes);
  #view = new DataView(this.#bytes.buffer);
  // Where the value that is being written begins, and where its next byte goes. What is before belongs to others.
  #from = 0;
  #at = 0;
  readonly #names = new Map<string, Name>();
  #root = new Name('');

  /** Bytes which nothing else writes to, beside others of the same memory. */
  write(value: unknown): Buffer {
    this.#from = this.#at;
    this.#value(value, this.#root);
    const written = this.#bytes.subarray(this.#from, this.#at);
    if (this.#bytes.length > pieceBytes) {
      this.#use(Buffer.allocUnsafeSlow(pieceBytes));
      this.#at = 0;
    }
    return written;
  }

  #value(value: unknown, name: Name): void {
    if (typeof value === 'string') this.#text(value, name);
    else if (typeof value === 'number') this.#number(value);
    else if (typeof value === 'boolean') this.#word(value ? 'true' : 'false');
    else if (Array.isArray(value)) this.#list(value, name);
    // A parsed boundary: plain data has no other kind of object.
    else if (typeof value === 'object' && value !== null) this.#object(value as Fields, name);
    else this.#word('null');
  }

  #object(fields: Fields, within: Name): void {
    let before: Name | undefined;
    // Plain data inherits nothing that could be enumerated; a list of its keys would be made for each object.
    for (const text in fields) {
      const value = fields[text];
      if (value === undefined) continue;
      const guess: Name | undefined = before === undefined ? within.first : before.next;
      let name: Name;
      if (guess !== undefined && guess.text === text) name = guess;
      else {
        name = this.#named(text);
        if (before === undefined) within.first = name;
        else before.next = name;
      }
      const commaAt = this.#name(name);
      if (before === undefined) this.#bytes[commaAt] = openObject;
      before = name;
      if (typeof value === 'string') this.#text(value, name);
      else this.#value(value, name);
    }
    if (before === undefined) this.#byte(openObject);
    this.#byte(closeObject);
  }

  #list(items: readonly unknown[], name: Name): void {
    this.#byte(openList);
    for (let index = 0; index < items.length; index++) {
      if (index > 0) this.#byte(comma);
      this.#value(items[index], name);
    }
    this.#byte(closeList);
  }

  #named(text: string): Name {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= namesMax) {
      this.#names.clear();
      // Or else the guesses would hold on to names without end.
      this.#root = new Name('');
    }
    const name = new Name(text);
    this.#names.set(text, name);
    return name;
  }

  /** Writes a comma, a name and a colon, and returns where the comma is. */
  #name({ text, kept }: Name): number {
    if (kept.text !== undefined) {
      this.#again(kept);
      return this.#at - kept.bytes;
    }
    const begun = this.#at - this.#from;
    this.#byte(comma);
    const isPlain = this.#characters(text);
    this.#byte(colon);
    if (isPlain && text.length + 4 <= keptBytesMax) this.#keep(kept, text, text.length + 4);
    return this.#from + begun;
  }

  #text(text: string, name: Name): void {
    if (text === name.newer.text) this.#again(name.newer);
    else if (text === name.older.text) this.#again(name.older);
    else if (this.#characters(text) && text.length + 2 <= keptBytesMax) {
      const { newer, older } = name;
      this.#keep(older, text, text.length + 2);
      name.newer = older;
      name.older = newer;
    }
  }

  /** Keeps the bytes that have just been written. */
  #keep(kept: Kept, text: string, bytes: number): void {
    this.#room(wordBytes);
    // What was in memory behind it, and might make a NaN of the last word.
    this.#view.setFloat64(this.#at, 0, true);
    const from = this.#at - bytes;
    for (let word = 0; word * wordBytes < bytes; word++)
      kept.words[word] = this.#view.getFloat64(from + word * wordBytes, true);
    kept.text = text;
    kept.bytes = bytes;
  }

  #again({ words, bytes }: Kept): void {
    // Whole words, and no loop: what is past the end of the text is written over by what comes next.
    this.#room(keptBytesMax);
    const at = this.#at;
    const view = this.#view;
    view.setFloat64(at, words[0] as number, true);
    view.setFloat64(at + wordBytes, words[1] as number, true);
    if (bytes > 2 * wordBytes) {
      view.setFloat64(at + 2 * wordBytes, words[2] as number, true);
      view.setFloat64(at + 3 * wordBytes, words[3] as number, true);
    }
    this.#at = at + bytes;
  }

  /** Writes a text between quotes. Whether it is plain ASCII, and nothing in it had to be escaped. */
  #characters(text: string): boolean {
    this.#room(text.length + 2);
    const bytes = this.#bytes;
    let at = this.#at;
    bytes[at++] = quote;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code < firstPrintable || code > lastPrintable || code === quote || code === backslash) {
        this.#escaped(text);
        return false;
      }
      bytes[at++] = code;
    }
    bytes[at++] = quote;
    this.#at = at;
    return true;
  }

  #escaped(text: string): void {
    this.#room(text.length * bytesPerCharacterMax + 2);
    this.#at += this.#bytes.write(JSON.stringify(text), this.#at);
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0)
      return this.#word(Number.isFinite(value) ? String(value) : 'null');
    if (value < smallMax) return this.#digits(value, digitsOf(value));
    // Bytes of memory, most of the time.
    const high = Math.floor(value / smallMax);
    this.#digits(high, digitsOf(high));
    this.#digits(value - high * smallMax, smallDigits);
  }

  #digits(value: number, digits: number): void {
    this.#room(digits);
    const bytes = this.#bytes;
    let rest = value;
    for (let at = this.#at + digits - 1; at >= this.#at; at--) {
      const tenth = Math.trunc(rest / 10);
      bytes[at] = zero + rest - tenth * 10;
      rest = tenth;
    }
    this.#at += digits;
  }

  #word(word: string): void {
    this.#room(word.length);
    for (let index = 0; index < word.length; index++) this.#bytes[this.#at++] = word.charCodeAt(index);
  }

  #byte(byte: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = byte;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const begun = this.#at - this.#from;
    // Twice what is there of it already, so that a large value is not copied again and again.
    const next = Buffer.allocUnsafeSlow(Math.max(pieceBytes, begun + bytes, begun * 2));
    this.#bytes.copy(next, 0, this.#from, this.#at);
    this.#use(next);
    this.#from = 0;
    this.#at = begun;
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let limit = 10; limit <= value; limit *= 10) digits += 1;
  return digits;
}
