declare module 'passport-openidconnect';
