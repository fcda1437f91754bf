import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

// Node checks and joins the headers of each answer, which costs a third of a short one. Where they were checked and sent
// before, their text is set into the head that Node makes.

/** Node's own text of a head, as it is about to be sent. */
interface WrittenHead {
  _header: string;
}

/** These Node writes by itself, for each answer and connection. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'date', 'content-length', 'transfer-encoding']);
const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';

/** The lines of headers that Node has accepted once already. */
export function headLines(headers: Readonly<Record<string, unknown>>): string {
  let lines = '';
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !OF_CONNECTION.has(name)) lines += `${name}: ${value}${LINE_END}`;
  }
  return lines;
}

/** The same text in one piece: one that was joined is put together again for each answer that it is a part of. */
export const inOnePiece = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** Whether this Node keeps the head where it can be added to. */
export const canPrepareHeads = ((): boolean => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  response.writeHead(304);
  return (response as unknown as WrittenHead)._header?.endsWith(HEAD_END) === true;
})();

/** Sends an answer with these lines in its head; without a body it is a 304. */
export function sendPrepared(response: ServerResponse, lines: string, body: Buffer | null): void {
  if (body === null) response.writeHead(304);
  else response.writeHead(200, ['content-length', String(body.length)]);
  const head = response as unknown as WrittenHead;
  head._header = `${head._header.slice(0, -LINE_END.length)}${lines}${LINE_END}`;
  if (body === null) response.end();
  else response.end(body);
}
