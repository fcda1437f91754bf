/** The main navigation. */
export const SITE_NAVIGATION: readonly { readonly href: string; readonly label: string }[] = [
  { href: '/charts', label: 'Metrics' },
  { href: '/chains', label: 'Chains' },
  { href: '/compare', label: 'Compare' },
  { href: '/governance', label: 'Governance' },
  { href: '/coretime', label: 'Coretime' },
  { href: '/contracts', label: 'Contracts' },
  { href: '/explorer', label: 'Explorer' },
  { href: '/projects', label: 'Alerts' },
  { href: '/docs/guides', label: 'Docs' },
  { href: '/status', label: 'Status' },
];

/** The side navigation of the profile. */
export const PROFILE_NAVIGATION: readonly { readonly href: string; readonly label: string }[] = [
  { href: '/profile', label: 'Overview' },
  { href: '/projects', label: 'Projects and alerts' },
  { href: '/profile/notifications', label: 'Notifications' },
  { href: '/profile/keys', label: 'API keys' },
  { href: '/profile/tokens', label: 'Personal access tokens' },
  { href: '/profile/applications', label: 'Applications' },
  { href: '/profile/authorized-applications', label: 'Authorized applications' },
  { href: '/profile/wallets', label: 'Wallets' },
  { href: '/profile/email', label: 'Email' },
  { href: '/profile/security', label: 'Security' },
  { href: '/profile/sessions', label: 'Active sessions' },
  { href: '/profile/account', label: 'Export and deletion' },
];
