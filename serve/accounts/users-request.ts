import { z } from 'zod';

/** A request of an operator about accounts. */
export const usersRequest = z.discriminatedUnion('action', [
  z.object({ action: z.literal('list') }),
  z.object({
    action: z.literal('create'),
    username: z.string(),
    email: z.string(),
    password: z.string().nullable(),
    is_operator: z.boolean(),
  }),
  z.object({ action: z.literal('reset-password'), username: z.string(), password: z.string().nullable() }),
  z.object({ action: z.literal('confirm-email'), username: z.string() }),
  z.object({ action: z.literal('reset-two-factor'), username: z.string() }),
  z.object({ action: z.literal('lock'), username: z.string() }),
  z.object({ action: z.literal('unlock'), username: z.string() }),
  z.object({ action: z.literal('sign-out'), username: z.string() }),
  z.object({ action: z.literal('delete'), username: z.string() }),
]);
export type UsersRequest = z.output<typeof usersRequest>;
