/** Text of others, for a screen: what a terminal or a reader would obey is shown instead. */

// Controls of both sets, what turns writing around, and what can't be seen.
const OBEYED =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Several lines. */
export function clean(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll("\t", "    ")
    .replace(OBEYED, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
}

/** The same in one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, " ").trim();
}
