import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding, codingOf, compress, compressing } from './content-codings.ts';

/** Sends text in the coding that the client prefers; its media type is set already. */
export async function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<FastifyReply> {
  const body = Buffer.from(text);
  const coding = codingOf(
    acceptedCoding(request.headers['accept-encoding'] as string | undefined),
    'text',
    body,
  );
  reply.header('vary', 'Accept-Encoding');
  if (coding === 'identity') return reply.send(body);
  return reply.header('content-encoding', coding).send(await compress(body, coding));
}

const TEXT = /^(?:text\/|application\/(?:json|javascript|yaml|x-yaml))/;

/** For the `onSend` hook of routes whose answers are texts, from a file or not: sends them in the coding that the client prefers. */
export async function compressSent(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  reply.header('vary', 'Accept-Encoding');
  if (reply.statusCode !== 200 || request.method === 'HEAD') return payload;
  if (!TEXT.test(String(reply.getHeader('content-type')))) return payload;
  const preferred = acceptedCoding(request.headers['accept-encoding'] as string | undefined);
  const body = payload instanceof Readable ? payload : Buffer.from(payload as string | Buffer);
  const coding = body instanceof Readable ? preferred : codingOf(preferred, 'text', body);
  if (coding === 'identity') return payload;
  reply.header('content-encoding', coding).removeHeader('content-length');
  return body instanceof Readable ? compressing(body, coding) : compress(body, coding);
}
