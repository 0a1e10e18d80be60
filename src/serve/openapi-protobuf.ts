/**
 * An OpenAPI v2 document in the binary form that older clients insist on (Debian's kubectl 1.20 asks for nothing
 * else): the messages of the gnostic project, by field number, as far as those clients read them.
 */
export const openApiProtobufType = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 128);
  }
}

const message = (field: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};
const text = (field: number, value: unknown): Buffer =>
  typeof value === 'string' ? message(field, Buffer.from(value)) : Buffer.alloc(0);
const flag = (field: number, value: boolean): Buffer =>
  Buffer.concat([varint(field * 8), varint(value ? 1 : 0)]);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
// JSON is YAML, which is what the field is called.
const any = (field: number, value: unknown): Buffer => message(field, text(2, `${JSON.stringify(value)}\n`));

const named = (field: number, map: unknown, encode: (value: Json) => Buffer): Buffer =>
  Buffer.concat(
    Object.entries(isObject(map) ? map : {}).map(([name, value]) =>
      message(field, text(1, name), message(2, encode(isObject(value) ? value : {}))),
    ),
  );

const extensions = (field: number, holder: Json): Buffer =>
  Buffer.concat(
    Object.entries(holder)
      .filter(([name]) => name.startsWith('x-'))
      .map(([name, value]) => message(field, text(1, name), any(2, value))),
  );

function schemaOf(schema: Json): Buffer {
  const { additionalProperties: additional, items, properties, type } = schema;
  return Buffer.concat([
    text(1, schema['$ref']),
    text(2, schema['format']),
    text(3, schema['title']),
    text(4, schema['description']),
    ...list(schema['required']).map((name) => text(19, name)),
    ...list(schema['enum']).map((value) => any(20, value)),
    ...(isObject(additional) ? [message(21, message(1, schemaOf(additional)))] : []),
    ...(typeof additional === 'boolean' ? [message(21, flag(2, additional))] : []),
    ...(typeof type === 'string' ? [message(22, text(1, type))] : []),
    ...(isObject(items) ? [message(23, message(1, schemaOf(items)))] : []),
    ...list(schema['allOf']).map((part) => message(24, schemaOf(isObject(part) ? part : {}))),
    ...(isObject(properties) ? [message(25, named(1, properties, schemaOf))] : []),
    extensions(31, schema),
  ]);
}

function parameterOf(parameter: Json): Buffer {
  const query = [
    flag(1, false),
    text(2, parameter['in']),
    text(4, parameter['name']),
    text(6, parameter['type']),
  ];
  return message(8, message(1, message(2, message(3, ...query))));
}

const operationOf = (operation: Json): Buffer =>
  Buffer.concat([
    text(5, operation['operationId']),
    ...list(operation['parameters']).map((parameter) => parameterOf(isObject(parameter) ? parameter : {})),
    extensions(13, operation),
  ]);

const methods = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

const pathOf = (item: Json): Buffer =>
  Buffer.concat(
    Object.entries(methods).map(([method, field]) => {
      const operation = item[method];
      return isObject(operation) ? message(field, operationOf(operation)) : Buffer.alloc(0);
    }),
  );

export function openApiProtobuf(document: Json): Buffer {
  const info = isObject(document['info']) ? document['info'] : {};
  return Buffer.concat([
    text(1, document['swagger']),
    message(2, text(1, info['title']), text(2, info['version'])),
    message(8, named(2, document['paths'], pathOf)),
    message(9, named(1, document['definitions'], schemaOf)),
  ]);
}
