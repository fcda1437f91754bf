import './bulk.js';
import './copy.js';
import './live.js';
import './time-zone.js';
