/** The value of `NODE_OPTIONS` where it has this value. */
export declare function nodeOptions(given?: string): string;
