import type { Message } from './ports.ts';

/** Size of a message's value in bytes, without building a lazy value. */
export const messageSize = (message: Message): number => message.size ?? message.value.length;
