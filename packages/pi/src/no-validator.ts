/**
 * Stands in the bundle for the SDK's validator of results, which is a third of it: no tool of the program declares a
 * schema for its output.
 */
export class AjvJsonSchemaValidator {
  getValidator(): never {
    throw new Error("a tool declares an output schema, and nothing here validates one");
  }
}
