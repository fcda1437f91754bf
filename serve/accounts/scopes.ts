/** The scopes, with the texts of the authorization page. */
export const SCOPES = {
  api: {
    title: 'Access the API on your behalf',
    detail: 'Complete read and write access to the API, including integrations and alerts.',
  },
  read_user: {
    title: 'Read your personal information',
    detail: 'Read-only access to your username, name and email.',
  },
  profile: {
    title: 'Read your profile',
    detail: 'Your username and name, together with “Authenticate you”.',
  },
  read_repository: { title: 'Read repositories', detail: 'Clone and fetch with Git over HTTPS.' },
  write_repository: { title: 'Write repositories', detail: 'Clone, fetch and push with Git over HTTPS.' },
  openid: {
    title: 'Authenticate you',
    detail: 'Recognize your account when you sign in again, and read your username and name.',
  },
  email: {
    title: 'Read your email',
    detail: 'Your email, and whether it is confirmed, together with “Authenticate you”.',
  },
} as const;

export type Scope = keyof typeof SCOPES;
export const SCOPE_NAMES = Object.keys(SCOPES) as Scope[];
export const DEFAULT_SCOPE: Scope = 'api';

export const isScope = (name: string): name is Scope => Object.hasOwn(SCOPES, name);
