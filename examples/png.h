/* A writer of PNG files that needs no library; the files are not compressed. */
#ifndef HAWSER_EXAMPLES_PNG_H
#define HAWSER_EXAMPLES_PNG_H

/* Writes HEIGHT rows of WIDTH pixels, three bytes (red, green, blue) each, to the file PATH.
 * Returns 0, or -1 with errno set. */
int png_write(const char* path, int width, int height, const unsigned char* rgb);

#endif
