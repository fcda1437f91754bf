/** The side navigation of the profile. */
export const NAVIGATION: readonly { readonly href: string; readonly label: string }[] = [
  { href: '/profile', label: 'Overview' },
  { href: '/projects', label: 'Projects and alerts' },
  { href: '/profile/keys', label: 'API keys' },
  { href: '/profile/tokens', label: 'Personal access tokens' },
  { href: '/profile/applications', label: 'Applications' },
  { href: '/profile/authorized-applications', label: 'Authorized applications' },
  { href: '/profile/wallets', label: 'Wallets' },
  { href: '/profile/security', label: 'Security' },
  { href: '/profile/sessions', label: 'Active sessions' },
];
