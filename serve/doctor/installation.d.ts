import type { Finding } from '../../infra/finding.ts';

export declare const NODE_MAJOR: number;
export declare function checkInstallation(profile?: string, home?: string): Finding[];
