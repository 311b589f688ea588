/** How an answer proves that it comes from Pi's own dialog (S9). */
import { createHmac, randomBytes } from "node:crypto";

export class Secret {
  readonly #bytes = randomBytes(32);

  /** Hands the bytes over, once, to whoever is to check. */
  reveal(to: (bytes: Buffer) => void): void {
    to(this.#bytes);
  }

  prove(question: string, answer: string, scope: string): string {
    return createHmac("sha256", this.#bytes)
      .update(`deputize-answer-1\n${question}\n${answer}\n${scope}`)
      .digest("hex");
  }
}
