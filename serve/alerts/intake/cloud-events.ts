import type { IncomingHttpHeaders } from 'node:http';
import { withoutByteOrderMark } from '../../../aggregate/alerts/formats/delivery.ts';

const PREFIX = 'ce-';
/** Headers with attributes. `ce-data` is none of them, because the data is the body. */
const ATTRIBUTE = /^ce-(?!data$)[a-z0-9]+$/;

/**
 * The body to store, or null if the request is no CloudEvent. Attributes in `ce-` headers become part of the body, so a
 * replay reads the same event. `check` throws for a body that is not JSON.
 */
export function cloudEventsIn(
  headers: IncomingHttpHeaders,
  body: Buffer,
  check: (body: Buffer) => void,
): Buffer | null {
  const type = headers['content-type'] ?? '';
  if (/^application\/cloudevents(?:-batch)?\+json\b/i.test(type)) return body;
  if (headers['ce-specversion'] === undefined) return null;
  const named = Object.entries(headers).filter(([name]) => ATTRIBUTE.test(name));
  const attributes = named.map(([name, value]) => [name.slice(PREFIX.length), attributeValue(String(value))]);
  const text = JSON.stringify({ ...Object.fromEntries(attributes), datacontenttype: type });
  if (body.length === 0) return Buffer.from(text);
  check(body);
  return Buffer.concat([
    Buffer.from(`${text.slice(0, -1)},"data":`),
    withoutByteOrderMark(body),
    Buffer.from('}'),
  ]);
}

/** A header value may be quoted and percent-encoded: HTTP binding, section 3.1.3. */
function attributeValue(header: string): string {
  const [, quoted] = /^"(.*)"$/s.exec(header.trim()) ?? [];
  const text = quoted === undefined ? header : quoted.replace(/\\(.)/gs, '$1');
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
