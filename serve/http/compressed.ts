import type { FastifyReply, FastifyRequest } from 'fastify';
import { acceptedCoding, codingOf, compress } from './content-codings.ts';

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
