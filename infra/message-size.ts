import type { Message } from './ports.ts';

/** Bytes of the value of a message, which is not made for it. */
export const sizeOf = (message: Message): number => message.size ?? message.value.length;
